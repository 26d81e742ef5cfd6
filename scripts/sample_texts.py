"""Texts of the generated sample documents."""

from dataclasses import dataclass


@dataclass(frozen=True, slots=True)
class Paragraph:
    """A paragraph or a heading."""

    text: str
    is_heading: bool = False


def _heading(text: str) -> Paragraph:
    return Paragraph(text, is_heading=True)


AGREEMENT_PAGES = (
    (
        _heading("Service Agreement"),
        Paragraph(
            "This agreement is made between Harbour Lane Water Works (the Customer), 14 Harbour Lane, and Brightwell"
            " Instruments Limited (the Supplier), 3 Mill Road. It takes effect on 1 March 2026."
        ),
        _heading("1. Purpose"),
        Paragraph(
            "The Customer runs a plant that turns river water into drinking water. The Supplier maintains measuring"
            " instruments. This agreement says what the Supplier does for the instruments of the plant, and what the"
            " Customer pays for it."
        ),
        _heading("2. Services"),
        Paragraph(
            "The Supplier calibrates every flow meter and every turbidity sensor of the plant twice a year, in March"
            " and in September, and hands over a certificate for each of them within ten working days."
        ),
        Paragraph(
            "When an instrument fails, the Supplier sends a technician who arrives at the plant within eight hours of"
            " the call, on any day of the week. Spare parts that are worth less than 200 euros are included."
        ),
        _heading("3. Access to the plant"),
        Paragraph(
            "Technicians of the Supplier report at the gate and follow the safety rules of the plant. The Customer"
            " provides light, power and a lift where they are needed."
        ),
    ),
    (
        _heading("4. Fees and payment"),
        Paragraph(
            "The yearly fee for the services is 18,400 euros, without value added tax. The Supplier sends an invoice at"
            " the beginning of each quarter for a fourth of it."
        ),
        Paragraph(
            "Invoices are payable within 45 days of receipt, without deduction. After that, interest of four percent a"
            " year is due on the unpaid amount."
        ),
        Paragraph(
            "The fee may be adjusted once a year, by at most the rise of the consumer price index. The Supplier"
            " announces an adjustment in writing before the first of December."
        ),
        _heading("5. Warranty"),
        Paragraph(
            "The Supplier warrants that its work is done with the care of an experienced instrument maker. Work that"
            " proves faulty within twelve months is done again at no charge."
        ),
        _heading("6. Liability"),
        Paragraph(
            "The liability of either party for damage caused by slight negligence is limited to 100,000 euros for each"
            " event. This limit does not hold for harm to life and health."
        ),
        _heading("7. Confidentiality"),
        Paragraph(
            "Neither party passes on to others what it learns about the business of the other. This duty outlasts the"
            " agreement by five years."
        ),
    ),
    (
        _heading("8. Term and termination"),
        Paragraph(
            "The agreement runs for two years from the day on which it takes effect, and is then extended by one year"
            " at a time unless it is ended."
        ),
        Paragraph(
            "Either party may end the agreement by giving ninety days written notice to the other. The notice is sent"
            " by registered letter; an electronic message is not enough."
        ),
        Paragraph(
            "Either party may end the agreement at once if the other breaks a material duty and does not mend that"
            " within thirty days of being asked to in writing."
        ),
        _heading("9. Governing law"),
        Paragraph(
            "The law at the seat of the Customer governs this agreement. Disputes go to the court at the seat of the"
            " Customer, after an attempt at mediation."
        ),
        _heading("10. Changes"),
        Paragraph("Changes of this agreement need the written form, and so does a change of this clause."),
        Paragraph("Signed for the Customer: A. Lindqvist. Signed for the Supplier: T. Okafor."),
    ),
)

TRAVEL_POLICY = (
    _heading("Travel and expenses policy"),
    Paragraph(
        "This policy is for all employees of Harbour Lane Water Works who travel for their work. Ask your team lead"
        " before you book; a short message is enough."
    ),
    _heading("Trains and flights"),
    Paragraph(
        "Take the train wherever the journey takes less than six hours. Flights are booked in economy class by the"
        " travel desk, not by yourself."
    ),
    _heading("Hotels"),
    Paragraph(
        "A hotel room may cost up to 130 euros a night including breakfast. In cities with a trade fair the limit is"
        " 190 euros. Keep the invoice; it must be made out to the company."
    ),
    _heading("Meals"),
    Paragraph(
        "The daily allowance for meals is 32 euros for a full day away, and 16 euros for the days of departure and"
        " return. No receipts are needed for it."
    ),
    _heading("Private car"),
    Paragraph("Who uses a private car is paid 0.38 euros per kilometre. Parking fees are refunded, fines are not."),
    _heading("Claiming expenses"),
    Paragraph(
        "Send your claim to the accounting department within 30 days of your return, with all receipts as one PDF."
        " Refunds are paid with the next salary."
    ),
)

LETTER = (
    "Brightwell Instruments Limited",
    "3 Mill Road",
    "",
    "To: Harbour Lane Water Works",
    "Date: 12 May 2026",
    "",
    "Subject: Recall of turbidity sensor TS-7",
    "",
    "Dear Ms Lindqvist,",
    "",
    "we have found that the optical window of the turbidity",
    "sensor TS-7 may crack at water temperatures above",
    "38 degrees Celsius. Sensors with serial numbers from",
    "5200 to 5399 are affected.",
    "",
    "Please stop using these sensors. We will exchange them",
    "free of charge until 30 September 2026. Our technician",
    "will bring the new sensors to your plant.",
    "",
    "We apologise for the inconvenience.",
    "",
    "Yours sincerely,",
    "T. Okafor",
)
